"""Sessions for arrays: views of the network's own memory."""

import gc

import numpy as np

import support
import vig


class Sessions(support.WithModels):
    def test_arrays_are_the_sessions_memory(self):
        model = vig.load(self.classifier)
        session = model.session(64, 64, batch=3)
        self.assertEqual(session.input.shape, (3, 64, 64, 3))
        self.assertEqual(session.input.dtype, np.float32)
        self.assertEqual(session.input.ctypes.data, session.input.ctypes.data)
        values = np.random.default_rng(1).normal(size=(3, 64, 64, 3)).astype(np.float32)
        session.input[...] = values
        session.run()
        logits = session.output()
        self.assertEqual(logits.shape, (3, 1, 1, 10))
        self.assertFalse(logits.flags.writeable)
        self.assertFalse(logits.flags.owndata)
        kept = logits.copy()

        # Alone as in a batch, and in the same memory.
        session.input[0] = values[2]
        session.run(1)
        self.assertEqual(session.output("logits").shape, (1, 1, 1, 10))
        self.assertEqual(session.output()[0].tobytes(), kept[2].tobytes())
        self.assertEqual(logits[0].tobytes(), kept[2].tobytes())
        self.assertIn("features", session.output_names)
        self.assertEqual(session.output("features").shape[:3], (1, 4, 4))

        # Other sizes than square ones, on the same weights.
        self.assertEqual(model.session(32, 96).input.shape, (1, 32, 96, 3))

    def test_arrays_keep_the_session_and_sessions_the_model(self):
        session = vig.load(self.classifier).session(64, 64)
        session.input[...] = 0.5
        session.run()
        expected = session.output().tobytes()
        view, output = session.input, session.output()
        del session
        gc.collect()
        self.assertEqual(view.shape, (1, 64, 64, 3))
        self.assertEqual(float(view.min()), 0.5)
        self.assertEqual(output.tobytes(), expected)

    def test_errors_are_sentences(self):
        model = vig.load(self.classifier)
        for bad in ((0, 64), (64, 100000), (64, 64, 0), (64, 64, 100000)):
            with self.assertRaises(vig.UsageError):
                model.session(*bad)
        session = model.session(64, 64)
        with self.assertRaisesRegex(vig.UsageError, "has not run"):
            session.output()
        with self.assertRaisesRegex(vig.UsageError, "expected 1 to 1"):
            session.run(2)
        session.run()
        with self.assertRaisesRegex(vig.UsageError, "no output is called nothing, only .*logits"):
            session.output("nothing")
        self.assertIn("input=[1, 64, 64, 3]", repr(session))


if __name__ == "__main__":
    support.main()
