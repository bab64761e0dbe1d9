import type { AgentMakers } from '@postern/testing'
import { agentContract, agentSecret } from '@postern/testing'
import type { RunInput } from '../../test/agui-server.ts'
import { eventsOf, openAguiServer, runOf, textEvent } from '../../test/agui-server.ts'
import { openTestAgent } from '../../test/gateway.ts'
import type { ModelReply } from '../../test/model-server.ts'

function openServer(answer: (input: RunInput) => ModelReply): AgentMakers['answers'] {
  return async () => {
    const server = await openAguiServer(answer)
    const { agent } = await openTestAgent({ use: 'ag-ui', url: server.url })
    return { agent, close: server.close }
  }
}

/** Stores a word in the state of the run, as a server with a state would. */
function remember({ messages, state }: RunInput): ModelReply {
  const [, word] = /remember (\w+)/.exec(messages.at(-1)?.content ?? '') ?? []
  const storedWord = (state as { readonly word?: string }).word
  return word
    ? runOf({ type: 'STATE_SNAPSHOT', snapshot: { word } }, textEvent('kept'))
    : runOf(textEvent(`It is: ${storedWord ?? 'nothing'}`))
}

agentContract('ag-ui', {
  answers: openServer(() => runOf(textEvent('hello back'))),
  staysSilent: openServer(() => runOf()),
  fails: openServer(() => eventsOf({ type: 'RUN_ERROR', message: agentSecret })),
  isUnavailable: openServer(() => ({ status: 503, body: { error: agentSecret } })),
  hangs: openServer(() => ({ hangs: true })),
  countsHistory: openServer(({ messages }) => runOf(textEvent(`${messages.length - 1} turns`))),
  remembers: openServer(remember),
})
