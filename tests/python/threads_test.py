"""Other threads of Python run while a network does, and any number of them may use one model."""

import sys
import os
import signal
import threading

import numpy as np

import support
import vig


class Threads(support.WithModels):
    def expect_turn(self, work):
        """That another thread has its turn during `work`: with this switch interval Python gives none."""
        interval = sys.getswitchinterval()
        came, wait = [], threading.Lock()
        wait.acquire()

        def other():
            with wait:
                came.append(True)

        thread = threading.Thread(target=other)
        thread.start()
        sys.setswitchinterval(1000)
        try:
            wait.release()
            for _ in range(10000):
                if came:
                    break
                work()
            turns = len(came)
        finally:
            sys.setswitchinterval(interval)
        thread.join()
        self.assertEqual(turns, 1)

    def test_the_lock_is_free_while_the_network_runs(self):
        model = vig.load(self.classifier)
        session = model.session(64, 64)
        session.input[...] = np.float32(0.1)
        pixels = np.zeros((64, 64, 3), np.uint8)
        self.expect_turn(session.run)
        self.expect_turn(lambda: model(pixels))
        self.expect_turn(lambda: model.embed([pixels, pixels]))
        self.expect_turn(lambda: vig.load(self.classifier))

    def test_many_threads_share_a_model(self):
        model = vig.load(self.classifier)
        expected = [vector.tobytes() for vector in model.embed(self.images)]
        wrong = []

        def work():
            for _ in range(5):
                found = [vector.tobytes() for vector in model.embed(self.images)]
                if found != expected:
                    wrong.append(found)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_forked_process_has_threads_of_its_own(self):
        model = vig.load(self.classifier)
        expected = model.embed(self.images[0]).tobytes()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if model.embed(self.images[0]).tobytes() == expected else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(model.embed(self.images[0]).tobytes(), expected)

    def test_many_threads_share_a_session(self):
        session = vig.load(self.classifier).session(64, 64)
        session.input[...] = np.float32(0.25)
        session.run()
        expected = session.output().tobytes()
        threads = [threading.Thread(target=session.run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(session.output().tobytes(), expected)


if __name__ == "__main__":
    support.main()
