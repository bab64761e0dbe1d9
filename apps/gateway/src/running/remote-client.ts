import { parseIfJson } from '@postern/core'
import { formatOperationPath } from '../api/call.ts'
import type { OperationAnswer } from '../api/operation.ts'
import type { OperatorClient } from '../commands/client.ts'
import { CommandError } from '../commands/client.ts'

interface RemoteOptions {
  /** `--url` and `--token`. */
  readonly options: { readonly url?: string | undefined; readonly token?: string | undefined }
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** A gateway that is reached by its address and the operator token alone. */
interface RemoteGateway {
  /** Without a slash at the end. */
  readonly url: string
  readonly token: string
}

/**
 * The gateway that `--url` or `POSTERN_URL` names. Undefined without either: then the configuration file tells.
 * @throws CommandError for an address that is none, and where the token is missing
 */
export function findRemoteGateway({ options, environment }: RemoteOptions): RemoteGateway | undefined {
  const named = options.url ?? environment.POSTERN_URL
  if (!named) {
    if (options.token === undefined) return undefined
    throw new CommandError('--token needs --url: without an address the configuration file names the token')
  }
  const url = readGatewayUrl(named)
  const token = options.token ?? environment.POSTERN_OPERATOR_TOKEN
  if (!token) throw new CommandError(`there is no operator token for ${url}: set POSTERN_OPERATOR_TOKEN`)
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CommandError('the operator token must be one word of ASCII')
  return { url, token }
}

/**
 * Opens its API; whether it answers shows with the first request. Far away only the gateway itself knows whether it simulates; it refuses what needs
 * that.
 */
export function openRemoteClient({ url, token }: RemoteGateway, isSimulating = true): OperatorClient {
  return createClient(token, sendTo(url), { isRunning: true, isSimulating, close: async () => undefined })
}

function readGatewayUrl(named: string): string {
  const url = URL.parse(named)
  const isPlain = url !== null && !url.username && !url.password && !url.search && !url.hash
  if (!isPlain || !['http:', 'https:'].includes(url.protocol)) {
    throw new CommandError(`"${named}" is no address of a gateway: name one such as https://agents.example`)
  }
  if (url.protocol === 'http:' && !isNear(url.hostname)) {
    throw new CommandError(`cannot send the operator token to ${url.origin} in clear text: use https`)
  }
  return url.href.replace(/\/+$/, '')
}

const privateAddress = /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)[\d.]+$/

/** On this machine or in its own network, where no certificate is to be had. */
function isNear(host: string): boolean {
  const isName = /^[a-z0-9_-]+$/i.test(host) || /\.(?:localhost|internal|local)$/i.test(host)
  return isName || host === '[::1]' || /^\[f[cd]/.test(host) || privateAddress.test(host)
}

type ClientState = Pick<OperatorClient, 'isRunning' | 'isSimulating' | 'close'>

/** A client of the operator's API, however its requests travel. */
export function createClient(token: string, send: Send, state: ClientState): OperatorClient {
  const authorization = `Bearer ${token}`
  return {
    async call(operation, input) {
      const { body } = input as { readonly body?: unknown }
      const answer = await send(formatOperationPath(operation, input), {
        method: operation.method,
        headers: { authorization, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      await checkAnswer(answer)
      return parseAnswer(await answer.text()) as OperationAnswer<typeof operation>
    },
    readLines(operation, input) {
      const headers = { authorization, accept: 'application/x-ndjson' }
      return readLines(send(formatOperationPath(operation, input), { headers }))
    },
    get: (path, headers = {}) => send(path, { headers }),
    ...state,
  }
}

type Send = (path: string, init: RequestInit) => Promise<Response>

/** Sends requests to the gateway at an address. */
function sendTo(url: string): Send {
  return (path, init) =>
    fetch(`${url}${path}`, { ...init, redirect: 'manual' }).catch(() => {
      throw new CommandError(`the gateway at ${url} does not answer`)
    })
}

async function checkAnswer(answer: Response): Promise<void> {
  if (answer.ok) return
  const { detail } = parseAnswer(await answer.text()) as { detail?: string }
  throw new CommandError(detail ?? `the gateway answered ${answer.status}`)
}

/** An empty object for what is no JSON. */
function parseAnswer(text: string): unknown {
  return parseIfJson(text) ?? {}
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
