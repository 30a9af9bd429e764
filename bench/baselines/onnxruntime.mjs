// ONNX Runtime as a baseline of `vig bench --baseline`; README.md beside this file describes the protocol.
//
//   node onnxruntime.mjs FILE.onnx THREADS
//
// One session on the CPU with every graph optimisation, whose operators run one after the other, each on
// THREADS threads. The package is found in build/baselines, or in the folder that VIG_BASELINES names.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const packages = process.env.VIG_BASELINES ?? resolve(here, '../../build/baselines');

// Replies with one line for any text.
function reply(text) {
  process.stdout.write(`${text.replace(/\s+/g, ' ').trim()}\n`);
}

function load() {
  const require = createRequire(resolve(packages, 'package.json'));
  try {
    return {
      ort: require('onnxruntime-node'),
      version: require('onnxruntime-node/package.json').version,
    };
  } catch (error) {
    throw new Error(`ONNX Runtime is not installed in ${packages}: run bench/baselines/install.sh (${error.message})`);
  }
}

async function open(file, threads) {
  if (file === undefined || !(threads >= 1)) throw new Error('usage: onnxruntime.mjs FILE.onnx THREADS');
  const { ort, version } = load();
  const session = await ort.InferenceSession.create(file, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'all',
    executionMode: 'sequential',
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  return { ort, version, session };
}

function tensor(ort, file, dims) {
  const bytes = readFileSync(file);
  const count = dims.reduce((product, dim) => product * dim, 1);
  if (!(count > 0) || bytes.length !== 4 * count) {
    throw new Error(`${file} has ${bytes.length} bytes, expected ${dims.join(' x ')} values of 4 bytes`);
  }
  const values = new Float32Array(count);
  Buffer.from(values.buffer).set(bytes);
  return new ort.Tensor('float32', values, dims);
}

// ONNX Runtime's threads spin for about 35 ms of processor time after their work, which would slow the engine that
// is measured next. Waits until this process has used next to nothing of two intervals in a row: on a busy
// machine a spinning thread may miss one.
async function rest() {
  const interval = 20; // milliseconds
  const busy = 150 * interval; // microseconds of processor time: 15 % of one processor
  for (let quiet = 0, waited = 0; quiet < 2; waited += interval) {
    if (waited > 10000) throw new Error('the threads do not come to rest within 10 s');
    const before = process.cpuUsage();
    await new Promise((done) => setTimeout(done, interval));
    const { user, system } = process.cpuUsage(before);
    quiet = user + system < busy ? quiet + 1 : 0;
  }
  return 'ok';
}

class Engine {
  constructor({ ort, version, session }) {
    Object.assign(this, { ort, version, session });
    this.feeds = null; // inputs of the last run
  }

  // The shape of the only input: that of the file, and what it leaves open as the command says.
  shape([batch, height, width]) {
    const [input] = this.session.inputMetadata;
    const asked = [batch, undefined, height, width];
    return input.shape.map((dim, i) => (typeof dim === 'number' ? dim : Number(asked[i])));
  }

  async compute(feeds, out) {
    const results = await this.session.run(feeds);
    const name = this.session.outputNames.includes('logits') ? 'logits' : this.session.outputNames[0];
    const { data } = results[name];
    writeFileSync(out, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    this.feeds = feeds;
    return 'ok';
  }

  async command(line) {
    const [verb, ...words] = line.trim().split(/\s+/);
    switch (verb) {
      case 'name':
        return `ONNX Runtime ${this.version}`;
      case 'run': {
        const [input, out, ...sizes] = words;
        const dims = this.shape(sizes);
        return this.compute({ [this.session.inputNames[0]]: tensor(this.ort, input, dims) }, out);
      }
      case 'runall': {
        const feeds = {};
        for (const [name, { dims, file }] of Object.entries(JSON.parse(readFileSync(words[0], 'utf8')))) {
          feeds[name] = tensor(this.ort, file, dims);
        }
        return this.compute(feeds, words[1]);
      }
      case 'time':
        return this.time(Number(words[0]));
      case 'rest':
        return rest();
      case 'memory':
        return `${process.resourceUsage().maxRSS * 1024}`;
      default:
        throw new Error(`no command ${verb}`);
    }
  }

  async time(seconds) {
    if (this.feeds === null) throw new Error('time needs a run before it');
    if (!(seconds >= 0)) throw new Error('time needs a number of seconds');
    const times = [];
    const start = performance.now();
    do {
      const before = performance.now();
      await this.session.run(this.feeds);
      times.push((performance.now() - before).toFixed(4));
    } while (performance.now() - start < 1000 * seconds);
    return times.join(' ');
  }
}

let engine = null;
let problem = null;
try {
  engine = new Engine(await open(process.argv[2], Number(process.argv[3])));
} catch (error) {
  problem = error; // reported in the reply to the first command
}
for await (const line of createInterface({ input: process.stdin })) {
  try {
    if (problem !== null) throw problem;
    reply(await engine.command(line));
  } catch (error) {
    reply(`error ${error.message}`);
  }
}
