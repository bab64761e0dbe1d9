// Receives push notifications.
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface ReceivedPush {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** A receiver of push notifications. */
export interface TestReceiver {
  readonly port: number
  readonly pushes: ReceivedPush[]
  /** The answers to the next notifications. The answer is 204 if there is none left. */
  readonly answers: (number | { readonly status: number; readonly retryAfter: string } | 'never' | 'endless')[]
  close(): Promise<void>
}

export async function openReceiver(): Promise<TestReceiver> {
  const pushes: ReceivedPush[] = []
  const answers: TestReceiver['answers'] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    pushes.push({ path: request.url ?? '', headers: request.headers, text })
    const answer = answers.shift() ?? 204
    if (answer === 'never') return
    if (answer === 'endless') {
      response.writeHead(200)
      const pour = () => {
        while (response.write('x'.repeat(65_536)));
      }
      response.on('drain', pour)
      pour()
      return
    }
    if (typeof answer === 'object') {
      response.writeHead(answer.status, { 'retry-after': answer.retryAfter }).end()
      return
    }
    response.writeHead(answer, { location: 'http://127.0.0.1:1/' }).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    pushes,
    answers,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
