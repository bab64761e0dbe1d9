// Writes the memory of the gateway's own program to a file when a signal asks for it. `--import` preloads it, and the program knows nothing of it. It
// is plain JavaScript, so that it loads nothing that the program would not.
import { writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.BENCH_MEMORY_REPORT

if (isMainThread && file) {
  const workers = new Set()
  process.on('worker', worker => {
    workers.add(worker)
    worker.once('exit', () => workers.delete(worker))
  })
  process.on('SIGUSR2', async () => writeFileSync(file, JSON.stringify(await readMemory([...workers]))))
}

async function readMemory(workers) {
  const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage()
  const found = await Promise.all(workers.map(worker => worker.getHeapStatistics().catch(() => undefined)))
  const threads = found.flatMap(heap =>
    heap ? [{ committed: heap.total_physical_size, used: heap.used_heap_size }] : [],
  )
  return { heapUsed, heapTotal, external, arrayBuffers, threads }
}
