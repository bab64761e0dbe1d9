// Runs the gateway under attack in this process. The first argument names its configuration file.
import { readFileSync } from 'node:fs'
import { runProduction } from '../../../src/running/run.ts'
import type { TargetAddresses } from './open.ts'

const config = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const { gateway, listening } = await runProduction({
  tree: config,
  missing: [],
  baseDir: import.meta.dirname,
  path: undefined,
})
const portOf = (start: string) => listening.find(({ description }) => description.startsWith(start))?.port
const addresses: TargetAddresses = {
  http: portOf('http') ?? 0,
  smtp: portOf('SMTP') ?? portOf('LMTP'),
  isLmtp: portOf('LMTP') !== undefined,
  grpc: portOf('A2A gRPC'),
  routes: gateway.app.routes.map(({ method, path }) => ({ method, path })),
}
process.send?.(addresses)
