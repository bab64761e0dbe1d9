import type { OperatorStore, Platform } from '@postern/core'
import { Rejection } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import type { AgentViewOptions, MessageStore, StoreMessage, ThreadKey } from '@postern/transcript'
import {
  createTranscriptMessageStore,
  isMessageTurnComplete,
  isMessageType,
  messageTypeNames,
  withTurnFrames,
} from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { findMessageThread } from './conversation.ts'

interface ViewRouteOptions {
  readonly store: Pick<OperatorStore, 'findMessage'> & Pick<GatewayStore, 'transcript'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
}

/** Of a conversation, read at once. */
const maxBytes = 64 * 1024 * 1024

interface Asked extends AgentViewOptions {
  readonly agents: readonly string[]
}

/** An end farther back counts no more. */
const completionReach = 10

type ReadView = (messages: MessageStore, location: string, asked: Asked) => Promise<readonly StoreMessage[]>

const views: Readonly<Record<string, ReadView>> = {
  conversation: (messages, location, asked) => messages.listConversation(location, asked),
  agent(messages, location, { agents: [agent], ...asked }) {
    if (agent === undefined) throw new Rejection('malformed', 'Cannot read view: agent_key is missing')
    return messages.listAgent(location, agent, asked)
  },
  global: (messages, location, asked) => messages.listGlobal(location, asked),
  team: (messages, location, { agents, ...asked }) => messages.listTeam(location, agents, asked),
}

/** The four views of a message store over a conversation of the store, with its turns as such stores tell of them. */
export function createViewRoutes({ store, platform }: ViewRouteOptions): Hono {
  const transcript = withTurnFrames(store.transcript, { max_bytes: maxBytes, is_whole: true })

  function openStore(thread: ThreadKey): MessageStore {
    const ofThread = { ...transcript, findThread: async () => thread }
    return createTranscriptMessageStore({ transcript: ofThread, platform, owner: thread.owner })
  }

  return new Hono().get('/transcript/views/:view', async context => {
    const { view } = context.req.param()
    const read = Object.hasOwn(views, view) ? views[view] : undefined
    if (!read) {
      throw new Rejection('malformed', `Cannot read view: must be one of ${Object.keys(views).join(', ')}`)
    }
    const asked = readAsked(context)
    const thread = await findMessageThread(context.req.query('thread') ?? '', store)
    if (!thread) throw new Rejection('no_recipient', 'Cannot find thread: there is none of this name')
    const messages = openStore(thread)
    const listed = await read(messages, thread.thread_id, asked)
    const [agent_key] = asked.agents
    const isOfOne = view === 'agent' && agent_key !== undefined
    return context.json({
      messages: listed,
      ...(isOfOne && { complete: await isComplete(messages, thread, agent_key) }),
    })
  })
}

/** Whether the agent has ended the last turn it began, by the rule of such stores; whatever part of the view is asked for. */
async function isComplete(messages: MessageStore, { thread_id }: ThreadKey, agent_key: string): Promise<boolean> {
  return isMessageTurnComplete(await messages.listAgent(thread_id, agent_key, { tail: completionReach }), { agent_key })
}

function readAsked({ req }: Context): Asked {
  const types = req.query('types')?.split(',')
  if (types?.some(type => !isMessageType(type))) {
    throw new Rejection('malformed', `Cannot read query: types must be of ${messageTypeNames.join(', ')}`)
  }
  return {
    agents: req.queries('agent_key') ?? [],
    limit: readCount(req.query('limit'), 'limit'),
    tail: readCount(req.query('tail'), 'tail'),
    ...(types && { types: types.filter(isMessageType) }),
  }
}

function readCount(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new Rejection('malformed', `Cannot read query: ${name} is not a number`)
  return Number(text)
}
