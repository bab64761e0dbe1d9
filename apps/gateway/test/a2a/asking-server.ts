// Runs an AG-UI server whose answers, such as questions, a test scripts.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

interface ServerRun {
  readonly threadId: string
  readonly runId: string
  readonly messages: readonly object[]
  readonly resume?: readonly object[]
}

/** A script that returns the text or interrupts of a run. A number is the HTTP status to answer with instead. */
type Script = (run: ServerRun) => { readonly text?: string; readonly interrupts?: readonly object[] } | number

/** Opens an AG-UI server on loopback that answers by script and records the runs that it received. */
export async function openAskingServer(script: Script) {
  const runs: ServerRun[] = []
  const server = createServer(async (request, response) => {
    const run = (await json(request)) as ServerRun
    runs.push(run)
    const outcome = script(run)
    if (typeof outcome === 'number') return void response.writeHead(outcome).end()
    const { text, interrupts } = outcome
    const { threadId, runId } = run
    const events = [
      { type: 'RUN_STARTED', threadId, runId },
      ...(text === undefined ? [] : [{ type: 'TEXT_MESSAGE_CONTENT', messageId: `answer to ${runId}`, delta: text }]),
      { type: 'RUN_FINISHED', threadId, runId, ...(interrupts && { outcome: { type: 'interrupt', interrupts } }) },
    ]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    runs,
    url: `http://127.0.0.1:${port}/run`,
    close() {
      server.closeAllConnections()
      return new Promise<void>(resolve => void server.close(() => resolve()))
    },
  }
}
