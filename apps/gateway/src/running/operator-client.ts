import { resolve } from 'node:path'
import { parseJsonText } from '@postern/core'
import { callOperation } from '../api/call.ts'
import type { OperatorClient } from '../commands/client.ts'
import { CommandError } from '../commands/client.ts'
import type { DataLocation } from '../commands/context.ts'
import type { ConfigFile } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import { devConfig, effectiveConfig } from '../dev/effective.ts'
import { openGateway } from '../gateway.ts'
import { createLog } from '../observe/log.ts'
import type { RunFile } from '../platform/run-file.ts'
import { findRunFile } from '../platform/run-file.ts'
import { findOperatorToken } from './run.ts'

/** The operator API of the running gateway; without one, the same routes over the stored data. */
export async function openOperatorClient(file: ConfigFile): Promise<OperatorClient> {
  const run = await findAnsweringGateway(file)
  const config = run?.isSimulating ? devConfig(file) : effectiveConfig(file)
  const token = findOperatorToken(config, file.baseDir)
  const directory = resolve(file.baseDir, config.data)
  if (run) {
    const { url, isSimulating } = run
    const send = (path: string, init: RequestInit) =>
      fetch(`${url}${path}`, init).catch(() => {
        throw new CommandError(`the gateway at ${url} does not answer`)
      })
    const running = { directory, isRunning: true, isSimulating, close: async () => undefined }
    return createClient(config, token, send, running)
  }
  const log = createLog({ level: 'error', readable: true })
  const gateway = await openGateway(config, { baseDir: file.baseDir, log, operatorToken: token })
  const send = async (path: string, init: RequestInit) => gateway.app.request(path, init)
  return createClient(config, token, send, { directory, isRunning: false, isSimulating: false, close: gateway.stop })
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

function createClient(
  config: Config,
  token: string,
  send: Send,
  rest: Pick<OperatorClient, 'directory' | 'isRunning' | 'isSimulating' | 'close'>,
): OperatorClient {
  const request = createRequester(send, token)
  return {
    config,
    request,
    call: (operation, input) => callOperation(request, operation, input),
    readLines: path => readLines(send(path, { headers: { ...authorize(token), accept: 'application/x-ndjson' } })),
    get: (path, headers = {}) => send(path, { headers }),
    ...rest,
  }
}

type Send = (path: string, init: RequestInit) => Promise<Response>

function createRequester(send: Send, token: string): OperatorClient['request'] {
  return async (path, { method = 'GET', body } = {}) => {
    const headers = { ...authorize(token), 'content-type': 'application/json' }
    const answer = await send(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
    await checkAnswer(answer)
    return parseAnswer(await answer.text())
  }
}

function authorize(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` }
}

async function checkAnswer(answer: Response): Promise<void> {
  if (answer.ok) return
  const { detail } = parseAnswer(await answer.text()) as { detail?: string }
  throw new CommandError(detail ?? `the gateway answered ${answer.status}`)
}

/** An empty object for what is no JSON. */
function parseAnswer(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return {}
  }
}

async function* readLines(asked: Promise<Response>): AsyncGenerator<string> {
  const answer = await asked
  await checkAnswer(answer)
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const piece of answer.body ?? []) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (cause) {
    throw new CommandError('the gateway broke off in the middle', { cause })
  }
  if (rest !== '') throw new CommandError('the gateway broke off in the middle')
}
