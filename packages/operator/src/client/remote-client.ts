// Calls the operator's API of a gateway by its address and the operator token.
import { leavesInClearText, parseIfJson } from '@postern/message'
import type { OperationInput } from '../api/call.ts'
import { formatOperationPath } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'
import type { OperatorClient } from './client.ts'
import { CommandError } from './client.ts'

interface RemoteOptions {
  /** The values of `--url` and `--token`. */
  readonly options: { readonly url?: string | undefined; readonly token?: string | undefined }
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The address of a gateway, and its operator token. */
interface RemoteGateway {
  /** The address without a slash at the end. */
  readonly url: string
  readonly token: string
}

/**
 * Returns the gateway that `--url` or `POSTERN_URL` names; undefined if neither is set, so that the configuration file names it.
 * @throws CommandError for an invalid address or a missing token
 */
export function findRemoteGateway({ options, environment }: RemoteOptions): RemoteGateway | undefined {
  const configuredUrl = options.url ?? environment.POSTERN_URL
  if (!configuredUrl) {
    if (options.token === undefined) return undefined
    throw new CommandError('--token needs --url: without --url the token comes from the configuration file')
  }
  const url = parseGatewayUrl(configuredUrl)
  const token = options.token ?? environment.POSTERN_OPERATOR_TOKEN
  if (!token) throw new CommandError(`there is no operator token for ${url}: set POSTERN_OPERATOR_TOKEN`)
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CommandError('the operator token must be ASCII without spaces')
  return { url, token }
}

/**
 * Opens the API of a gateway, without a request. Only the gateway itself knows whether it runs the simulation, and refuses operations that need
 * it.
 */
export function openRemoteClient({ url, token }: RemoteGateway, isSimulating = true): OperatorClient {
  return createClient(token, createSend(url), { isRunning: true, isSimulating, close: async () => undefined })
}

function parseGatewayUrl(text: string): string {
  const url = URL.parse(text)
  const isPlain = url !== null && !url.username && !url.password && !url.search && !url.hash
  if (!isPlain || !['http:', 'https:'].includes(url.protocol)) {
    throw new CommandError(`"${text}" is not an address of a gateway: use one like https://agents.example`)
  }
  if (leavesInClearText(url)) {
    throw new CommandError(
      `cannot send the operator token to ${url.origin} in clear text: use https, or a tunnel to this machine`,
    )
  }
  return url.href.replace(/\/+$/, '')
}

type ClientState = Pick<OperatorClient, 'isRunning' | 'isSimulating' | 'close'>

/** Creates a client of the operator’s API from a function that sends its requests. */
export function createClient(token: string, send: Send, state: ClientState): OperatorClient {
  const authorization = `Bearer ${token}`
  const sendOperation = <Operation extends ApiOperation>(
    operation: Operation,
    input: OperationInput<Operation>,
    accept: string,
  ) => {
    const { body } = input as { readonly body?: unknown }
    return send(formatOperationPath(operation, input), {
      method: operation.method,
      headers: { authorization, accept, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }
  return {
    async call(operation, input) {
      const response = await sendOperation(operation, input, 'application/json')
      await checkResponse(response)
      return parseJsonOrEmpty(await response.text()) as OperationAnswer<typeof operation>
    },
    readLines: (operation, input) => readLines(sendOperation(operation, input, 'application/x-ndjson')),
    get: (path, headers = {}) => send(path, { headers }),
    ...state,
  }
}

type Send = (path: string, init: RequestInit) => Promise<Response>

/** Sends requests to the gateway at an address. */
function createSend(url: string): Send {
  return (path, init) =>
    fetch(`${url}${path}`, { ...init, redirect: 'manual' }).catch(() => {
      throw new CommandError(`the gateway at ${url} does not answer`)
    })
}

async function checkResponse(response: Response): Promise<void> {
  if (response.ok) return
  const { detail } = parseJsonOrEmpty(await response.text()) as { detail?: string }
  throw new CommandError(detail ?? `the gateway answered ${response.status}`)
}

/** Parses JSON. Returns an empty object for other texts. */
function parseJsonOrEmpty(text: string): unknown {
  return parseIfJson(text) ?? {}
}

async function* readLines(pendingResponse: Promise<Response>): AsyncGenerator<string> {
  const response = await pendingResponse
  await checkResponse(response)
  const decoder = new TextDecoder()
  let partialLine = ''
  try {
    for await (const chunk of response.body ?? []) {
      const lines = (partialLine + decoder.decode(chunk, { stream: true })).split('\n')
      partialLine = lines.pop() ?? ''
      yield* lines
    }
  } catch (cause) {
    throw new CommandError('the gateway ended the connection in the middle of its answer', { cause })
  }
  if (partialLine !== '') throw new CommandError('the gateway ended the connection in the middle of its answer')
}
