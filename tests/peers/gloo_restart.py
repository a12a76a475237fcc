"""A gloo job of two ranks that loses rank 1 in its first attempt and ends well in its second."""

import os
import signal

import torch
import torch.distributed as dist

attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.init_process_group("gloo")
rank = dist.get_rank()

value = torch.tensor([rank + 1.0])
dist.all_reduce(value)
assert value.item() == 3.0, value
if attempt == 0 and rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)

dist.barrier()
print(f"PyTorch {torch.__version__} attempt {attempt} rank {rank} sum {value.item():.0f}", flush=True)
dist.destroy_process_group()
