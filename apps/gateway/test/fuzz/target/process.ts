// Runs the gateway under attack in this process. The first argument names its configuration file.
import { readFileSync } from 'node:fs'
import { runProduction } from '../../../src/running/run.ts'
import type { TargetAddresses } from './open.ts'

const config = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const { gateway, listening } = await runProduction({
  tree: config,
  missingSettings: [],
  baseDir: import.meta.dirname,
  path: undefined,
})
const findPort = (descriptionPrefix: string) =>
  listening.find(({ description }) => description.startsWith(descriptionPrefix))?.port
const addresses: TargetAddresses = {
  http: findPort('http') ?? 0,
  smtp: findPort('SMTP') ?? findPort('LMTP'),
  isLmtp: findPort('LMTP') !== undefined,
  grpc: findPort('A2A gRPC'),
  routes: gateway.app.routes.map(({ method, path }) => ({ method, path })),
}
process.send?.(addresses)
