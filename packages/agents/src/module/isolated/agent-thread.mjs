// A thread does not inherit the compile cache of its parent.
import { enableCompileCache, flushCompileCache } from 'node:module'

enableCompileCache()
await import('./agent-worker.ts')
flushCompileCache()
