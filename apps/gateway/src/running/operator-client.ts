import { resolve } from 'node:path'
import type { OperatorClient } from '../commands/client.ts'
import type { DataLocation } from '../commands/context.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { devConfig, effectiveConfig } from '../dev/dev-configs.ts'
import { openGateway } from '../gateway.ts'
import { createLog } from '../observe/log.ts'
import type { RunFile } from '../platform/run-file.ts'
import { findRunFile } from '../platform/run-file.ts'
import { createClient, openRemoteClient } from './remote-client.ts'
import { findOperatorToken } from './run.ts'

/**
 * The operator API of the running gateway; without one, the same routes over the stored data. Beside a gateway that runs, nothing but the
 * operator token has to be known: secrets of agents and channels may be missing here. @throws ConfigError, AggregateError of them
 */
export async function openOperatorClient(file: ConfigFile): Promise<OperatorClient> {
  const run = await findAnsweringGateway(file)
  if (!run) return openStored(file)
  const unknown = file.missing.find(({ path }) => path.join('.') === 'operator_token')
  if (unknown && !run.isSimulating) throw unknown.error
  return openRemoteClient({ url: run.url, token: findOperatorToken(devConfig(file), file.baseDir) }, run.isSimulating)
}

async function openStored(file: ConfigFile): Promise<OperatorClient> {
  const config = effectiveConfig(file)
  const { baseDir, path: configPath } = file
  const token = findOperatorToken(config, baseDir)
  const log = createLog({ level: 'error', readable: true })
  const gateway = await openGateway(config, { baseDir, configPath, log, operatorToken: token })
  const send = async (path: string, init: RequestInit) => gateway.app.request(path, init)
  return createClient(token, send, { isRunning: false, isSimulating: false, close: gateway.stop })
}

/** Where a gateway of this file keeps what it remembers; settings that are missing do not matter for that. */
export function findDataLocation(file: ConfigFile): DataLocation {
  const { data, store } = devConfig(file)
  return { store, directory: resolve(file.baseDir, data) }
}

/** The gateway that runs on this file's data. */
async function findAnsweringGateway(file: ConfigFile): Promise<RunFile | undefined> {
  const run = findRunFile(resolve(file.baseDir, devConfig(file).data))
  return run && (await isAnswering(run)) ? run : undefined
}

/** A number of a process tells little: it may be a new one's, or of one that is dead and not yet buried. */
async function isAnswering({ url }: RunFile): Promise<boolean> {
  const health = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(3_000) }).catch(() => undefined)
  return health?.ok === true
}
