// Builds messages and responses on which an agent acts.
import type { ChannelName, OutgoingAction } from '@postern/message'
import type { PublisherDeps } from '../src/actions/publisher.ts'
import type { Addressing } from '../src/ports/channel/addressing.ts'
import type { Channel } from '../src/ports/channel/channel.ts'
import type { Refusal } from '../src/ports/records/operator/refusal.ts'
import type { PlannedAction } from '../src/ports/records/work/answer.ts'
import type { Turn } from '../src/ports/records/work/turn.ts'
import type { AgentConversation, MessageTarget, ResponseRecord } from '../src/ports/store/lookup-store.ts'
import { describeChannel } from './channels.ts'
import { createQuietSystem, turn } from './memory-store.ts'
import { message } from './messages.ts'

export const actingAgent = { agent: 'echo', address: '@echo@agents.test' }

/** Returns a response of `echo` with this id, as a store finds it. */
export function createResponseRecord(id: string, members: Partial<ResponseRecord> = {}): ResponseRecord {
  return {
    response: {
      id,
      thread_id: 't',
      in_reply_to: 'm',
      sender: '@echo@agents.test',
      parts: [{ kind: 'text', mime: 'text/plain', content: 'old' }],
      status: 'completed',
      created_at: '2026-01-01T00:00:00.000Z',
    },
    message: message(),
    target: { inbox: 'x' },
    rendering: { pieces: 1 },
    agent: 'echo',
    via: 'activitypub',
    ...members,
  }
}

interface ActBench {
  readonly publisherDeps: PublisherDeps
  readonly actions: OutgoingAction[]
  readonly storedActions: { readonly acts: readonly PlannedAction[]; readonly correlationId: string }[]
  readonly refusals: Refusal[]
}

interface ActBenchOptions {
  readonly responses?: readonly ResponseRecord[]
  readonly messages?: Readonly<Record<string, MessageTarget>>
  /** Conversations by their `thread_id`. */
  readonly conversations?: Readonly<Record<string, AgentConversation>>
  readonly turns?: Readonly<Record<number, Partial<Turn>>>
  readonly channels?: readonly Partial<Channel>[]
  readonly storeFiles?: PublisherDeps['storeFiles']
  readonly log?: PublisherDeps['system']['log']
}

export const postAddressing: Addressing = {
  deliveries: [{ to: 'https://peer.test/inbox', target: null }],
  aliases: ['https://agents.test/post'],
  broadcasts: [{ relation: 'follower', target: null }],
  isListed: true,
  rendering: { pieces: 2 },
}

/** Returns a channel that supports every action and adds it to `actions`. */
export function createActingChannel(
  name: ChannelName,
  actions: OutgoingAction[],
  members: Partial<Channel> = {},
): Partial<Channel> {
  return {
    descriptor: describeChannel(name),
    actions: {
      address(action) {
        actions.push(action)
        return postAddressing
      },
    },
    ...members,
  }
}

export function openActBench(options: ActBenchOptions = {}): ActBench {
  const actions: OutgoingAction[] = []
  const storedActions: ActBench['storedActions'] = []
  const refusals: Refusal[] = []
  const { conversations = {}, turns = {} } = options
  const {
    responses = [],
    messages = {},
    channels = [createActingChannel('activitypub', actions)],
    storeFiles,
    log,
  } = options
  const publisherDeps: PublisherDeps = {
    store: {
      findResponse: async id => responses.find(({ response }) => response.id === id),
      findBlob: async () => undefined,
      readHistory: async () => [],
      findConversation: async (agent, id) => (agent === 'echo' ? conversations[id] : undefined),
      readTurn: async number => ({ ...turn(number), ...turns[number] }),
      findMessageTo: async (agent, id) => (agent === 'echo' ? messages[id] : undefined),
      storeActions: async (acts, correlationId) => void storedActions.push({ acts, correlationId }),
      refuse: refusal => refusals.push(refusal) > 0,
    },
    system: createQuietSystem({ ...(log && { log }), randomBytes: count => new Uint8Array(count).fill(7) }),
    channels: channels.map(channel => channel as Channel),
    ...(storeFiles && { storeFiles }),
  }
  return { publisherDeps, actions, storedActions, refusals }
}

/** Returns a message over ActivityPub, as a store finds it. */
export function createMessageTarget(number: number): MessageTarget {
  return { message: number, via: 'activitypub', target: { of: turn(number).content.id } }
}
