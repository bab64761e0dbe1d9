import type { OperatorStore, Platform } from '@postern/core'
import { Rejection } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import type { AgentViewOptions, MessageStore, StoreMessage, ThreadKey } from '@postern/transcript'
import { createTranscriptMessageStore, isMessageTurnComplete, isMessageType, withTurnFrames } from '@postern/transcript'
import type { OperationRequest, OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { findMessageThread } from './conversation.ts'
import { transcriptOperations } from './operations.ts'

interface ViewRouteOptions {
  readonly store: Pick<OperatorStore, 'findMessage'> & Pick<GatewayStore, 'transcript'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
}

/** Of a conversation, read at once. */
const maxBytes = 64 * 1024 * 1024

type ViewQuery = OperationRequest<typeof transcriptOperations.view>['query']
type ViewName = OperationRequest<typeof transcriptOperations.view>['parameters']['view']

interface Asked extends AgentViewOptions {
  readonly agents: readonly string[]
}

/** An end farther back counts no more. */
const completionReach = 10

type ReadView = (messages: MessageStore, location: string, asked: Asked) => Promise<readonly StoreMessage[]>

const views: Readonly<Record<ViewName, ReadView>> = {
  conversation: (messages, location, asked) => messages.listConversation(location, asked),
  agent(messages, location, { agents: [agent], ...asked }) {
    if (agent === undefined) throw new Rejection('malformed', 'Cannot read view: agent_key is missing')
    return messages.listAgent(location, agent, asked)
  },
  global: (messages, location, asked) => messages.listGlobal(location, asked),
  team: (messages, location, { agents, ...asked }) => messages.listTeam(location, agents, asked),
}

/** The four views of a message store over a conversation of the store, with its turns as such stores tell of them. */
export function createViewRoutes({ store, platform }: ViewRouteOptions): readonly OperatorRoute[] {
  const transcript = withTurnFrames(store.transcript, { max_bytes: maxBytes, is_whole: true })

  function openStore(thread: ThreadKey): MessageStore {
    const ofThread = { ...transcript, findThread: async () => thread }
    return createTranscriptMessageStore({ transcript: ofThread, platform, owner: thread.owner })
  }

  return [
    handleOperation(transcriptOperations.view, async ({ parameters: { view }, query }) => {
      const asked = readAsked(query)
      const thread = await findMessageThread(query.thread, store)
      if (!thread) throw new Rejection('no_recipient', 'Cannot find thread: there is none of this name')
      const messages = openStore(thread)
      const listed = await views[view](messages, thread.thread_id, asked)
      const [agent_key] = asked.agents
      const isOfOne = view === 'agent' && agent_key !== undefined
      return {
        messages: listed.map(message => ({ ...message })),
        ...(isOfOne && { complete: await isComplete(messages, thread, agent_key) }),
      }
    }),
  ]
}

/** Whether the agent has ended the last turn it began, by the rule of such stores; whatever part of the view is asked for. */
async function isComplete(messages: MessageStore, { thread_id }: ThreadKey, agent_key: string): Promise<boolean> {
  return isMessageTurnComplete(await messages.listAgent(thread_id, agent_key, { tail: completionReach }), { agent_key })
}

function readAsked({ agent_key, types, limit, tail }: ViewQuery): Asked {
  return {
    agents: agent_key ?? [],
    limit,
    tail,
    ...(types !== undefined && { types: types.split(',').filter(isMessageType) }),
  }
}
