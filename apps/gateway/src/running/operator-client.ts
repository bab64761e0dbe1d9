// Opens the operator API for a command, either of the running gateway or on the stored data.
import { resolve } from 'node:path'
import { openRemoteClient } from '@postern/operator/client'
import type { DataLocation, OperatorClient } from '@postern/operator/commands'
import type { ConfigFile } from '../config/read-config.ts'
import { parseDevConfig } from '../dev/dev-configs.ts'
import type { RunFile } from '../system/run/run-file.ts'
import { findRunFile } from '../system/run/run-file.ts'
import { verifyRun } from '../system/run/run-proof.ts'
import { readOperatorToken } from './run.ts'
import { openStoredClient } from './stored-client.ts'

/**
 * Opens the API of the running gateway, or else the same routes on the stored data. Next to a running gateway, the command needs only the
 * operator token, so secrets of agents and channels may be missing.
 * @throws ConfigError, AggregateError of them
 */
export async function openOperatorClient(file: ConfigFile): Promise<OperatorClient> {
  const run = await findAnsweringGateway(file)
  if (!run) return openStoredClient(file)
  const missingToken = file.missingSettings.find(({ path }) => path.join('.') === 'operator_token')
  if (missingToken && !run.isSimulating) throw missingToken.error
  return openRemoteClient(
    { url: run.url, token: readOperatorToken(parseDevConfig(file), file.baseDir) },
    run.isSimulating,
  )
}

/** Returns the store and the data folder of a file, even if other settings are missing. */
export function findDataLocation(file: ConfigFile): DataLocation {
  const { data, store } = parseDevConfig(file)
  return { store, directory: resolve(file.baseDir, data) }
}

/**
 * Finds the gateway that runs on this file's data. The gateway must prove itself, because a stale run file may point to another program's
 * port, and that program must not get the token.
 */
async function findAnsweringGateway(file: ConfigFile): Promise<RunFile | undefined> {
  const run = findRunFile(resolve(file.baseDir, parseDevConfig(file).data))
  return run && (await verifyRun(run)) ? run : undefined
}
