import { readFileSync } from 'node:fs'
import { runProduction } from '../../../src/running/run.ts'
import type { TargetPlaces } from './open.ts'

// The gateway under attack, in a process of its own: the configuration is the file that the first word names.

const tree = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const { gateway, listening } = await runProduction({ tree, missing: [], baseDir: import.meta.dirname, path: undefined })
const portOf = (start: string) => listening.find(({ description }) => description.startsWith(start))?.port
const places: TargetPlaces = {
  http: portOf('http') ?? 0,
  smtp: portOf('SMTP') ?? portOf('LMTP'),
  isLmtp: portOf('LMTP') !== undefined,
  grpc: portOf('A2A gRPC'),
  routes: gateway.app.routes.map(({ method, path }) => ({ method, path })),
}
process.send?.(places)
