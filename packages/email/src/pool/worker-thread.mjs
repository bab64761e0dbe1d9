// Starts a worker thread of the mail parser with a compile cache.
// A thread does not inherit the cache of its parent. Without a cache, Node.js loads its TypeScript compiler, which takes
// 10 MB and more than a second.
import { enableCompileCache, flushCompileCache } from 'node:module'

enableCompileCache()
await import('./worker.ts')
flushCompileCache()
