// Answers as the A2A compatibility kit expects. The start of the message's id names the behaviour.
import { setTimeout as delay } from 'node:timers/promises'
import type { Part } from '@postern/message'
import type { Agent, AgentAnswer, AgentChunk, AgentContext } from '@postern/pipeline'

const says = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })
const inline = (text: string) => ({ kind: 'inline', data_base64: Buffer.from(text).toString('base64') }) as const
const file: Part = { kind: 'file', name: 'output.txt', mime: 'text/plain', bytes_ref: inline('tck') }
const fileUrl: Part = { ...file, bytes_ref: { kind: 'url', url: 'https://example.com/output.txt' } }
const data: Part = { kind: 'artifact', artifact_type: 'data', bytes_ref: inline('{"key":"value","count":42}') }

type Script = (context: AgentContext) => AgentAnswer | AsyncIterable<AgentChunk>

const completes =
  (...parts: Part[]): Script =>
  () => ({ parts })

const streams = (...texts: string[]): Script =>
  async function* () {
    yield { status: 'working' }
    for (const text of texts) {
      yield says(text)
      await delay(5)
    }
    yield { status: 'completed' }
  }

async function* works(): AsyncIterable<AgentChunk> {
  yield { status: 'working' }
  await delay(4_500)
  yield { status: 'completed', parts: [says('done')] }
}

/** Asks for credentials within the task (A2A §7.6) by the page of a requirement. */
function asksWho(context: AgentContext): AgentAnswer {
  const auth_challenges = [{ scheme: 'Bearer', realm: 'tck' }]
  return context.requireAuth({ message: 'Say who you are, then go on with this task.', auth_challenges })
}

/** The scripts by the start of the message's id; the first match counts. */
const scripts: readonly (readonly [prefix: string, script: Script])[] = [
  ['tck-complete-task', completes(says('Hello from TCK'))],
  ['tck-artifact-text', completes(says('Generated text content'))],
  ['tck-artifact-file-url', completes(fileUrl)],
  ['tck-artifact-file', completes(file)],
  ['tck-artifact-data', completes(data)],
  ['tck-message-response', () => ({ as: 'message', parts: [says('Direct message response')] })],
  ['tck-input-required', () => ({ status: 'input_required', parts: [says('What else?')] })],
  ['tck-auth-required', asksWho],
  ['tck-reject-task', () => ({ status: 'rejected', parts: [says('No.')] })],
  ['tck-stream-002', completes(says('done'))],
  ['tck-stream-artifact-file', completes(file)],
  ['tck-stream-artifact-chunked', streams('chunk 1 ', 'chunk 2')],
  ['tck-stream-', streams('Generated text content')],
  ['test-resubscribe-message-id', works],
]

export const handle: Agent['handle'] = ({ id }, context) => {
  const script = scripts.find(([prefix]) => id.startsWith(prefix))?.[1] ?? completes(says('ok'))
  return script(context)
}
