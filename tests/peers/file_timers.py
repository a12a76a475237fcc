"""A worker that sets timers with PyTorch's client; in the first attempt rank 1 outlives one."""

import os
import signal
import time

import torch.distributed.elastic.timer as timer

timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]

for step in range(100):
    with timer.expires(after=60, scope=f"step {step} in time"):
        pass
with timer.expires(after=0.2, scope="in time"):
    pass
if rank == "1" and attempt == "0":
    with timer.expires(after=0.5, scope="stuck"):
        signal.pause()
time.sleep(0.5)  # past the expiry of the one that was taken back
print(f"rank {rank} in attempt {attempt}", flush=True)
