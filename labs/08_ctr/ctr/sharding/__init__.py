"""Several processes train one model: the dense network in all of them, the table's rows shared out.

    python -m torch.distributed.run --standalone --nproc-per-node 2 labs/08_ctr/ctr/sharding train LOG

The transport is PyTorch's: DistributedDataParallel for the dense network, redistributions of DTensors for the table.
Why not PyTorch's own RowwiseParallel for `nn.Embedding`, which also shards the rows and masks what lies elsewhere: its
gradient is dense and has the rows of the whole table in every process (11,101,260 x 32 numbers a step for the model of
model/facts.py, and as many after a step for a batch of one), and with `sparse=True` its backward stops with "Operator
aten._sparse_coo_tensor_with_dims_and_tensors.default does not have a sharding strategy registered" (PyTorch 2.13). So
`table` redistributes partial embeddings and gradients itself, and keeps its gradients sparse.
"""

# processes      who the others are; all-gather and reduce-scatter as redistributions of a DTensor; lost processes
# table          rows sharded: spread over processes, looked up in all of them, gradients where the rows are
# split          large fields sharded, small ones whole in every process
# update         row-wise Adagrad without sorting
# step           the step for the loop of training/
# checkpoint     written by some processes, read by any number of them
# running        a training run
# prediction     how long a step of two GPUs should take
# measure        how long it takes
# command        train, measure, scaling; __main__ is what torchrun starts
