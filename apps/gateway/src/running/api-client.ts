import { parseJsonText } from '@postern/core'
import type { SendOperation } from '../api/call.ts'
import { callOperation, formatOperationPath } from '../api/call.ts'
import type { OperatorClient } from '../commands/client.ts'
import { CommandError } from '../commands/client.ts'

type ClientState = Pick<OperatorClient, 'isRunning' | 'isSimulating' | 'close'>

/** A client of the operator's API, however its requests travel. */
export function createClient(token: string, send: Send, state: ClientState): OperatorClient {
  const request = createRequester(send, token)
  return {
    call: (operation, input) => callOperation(request, operation, input),
    readLines(operation, input) {
      const headers = { ...authorize(token), accept: 'application/x-ndjson' }
      return readLines(send(formatOperationPath(operation, input), { headers }))
    },
    get: (path, headers = {}) => send(path, { headers }),
    ...state,
  }
}

export type Send = (path: string, init: RequestInit) => Promise<Response>

/** Sends requests to the gateway at an address. */
export function sendTo(url: string): Send {
  return (path, init) =>
    fetch(`${url}${path}`, { ...init, redirect: 'manual' }).catch(() => {
      throw new CommandError(`the gateway at ${url} does not answer`)
    })
}

function createRequester(send: Send, token: string): SendOperation {
  return async (path, { method, body }) => {
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
