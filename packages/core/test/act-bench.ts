import type { Deed } from '../src/deed.ts'
import type { FoundMessage, FoundResponse } from '../src/desk.ts'
import type { ChannelName } from '../src/message.ts'
import type { OutpostHouse } from '../src/outpost.ts'
import type { Addressing, Channel } from '../src/protocol.ts'
import type { PlannedAct } from '../src/work.ts'
import { createQuietWorld, turn } from './memory-desk.ts'
import { message } from './messages.ts'

export const acting = { agent: 'echo', address: '@echo@agents.test' }

/** A response of `echo` that is known as `id`. */
export function foundResponse(id: string, members: Partial<FoundResponse> = {}): FoundResponse {
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

export interface ActBench {
  readonly house: OutpostHouse
  readonly deeds: Deed[]
  readonly done: { readonly acts: readonly PlannedAct[]; readonly correlationId: string }[]
}

interface Sketch {
  readonly responses?: readonly FoundResponse[]
  readonly messages?: Readonly<Record<string, FoundMessage>>
  readonly channels?: readonly Partial<Channel>[]
  readonly storeFiles?: OutpostHouse['storeFiles']
  readonly log?: OutpostHouse['world']['log']
}

export const addressed: Addressing = {
  deliveries: [{ to: 'https://peer.test/inbox', target: null }],
  aliases: ['https://agents.test/post'],
  broadcasts: [{ relation: 'follower', target: null }],
  isListed: true,
  rendering: { pieces: 2 },
}

/** A channel that can do every deed, told to `deeds`. */
export function ableChannel(name: ChannelName, deeds: Deed[], members: Partial<Channel> = {}): Partial<Channel> {
  return {
    name,
    addressDeed(deed) {
      deeds.push(deed)
      return addressed
    },
    ...members,
  }
}

export function openActBench(sketch: Sketch = {}): ActBench {
  const deeds: Deed[] = []
  const done: ActBench['done'] = []
  const { responses = [], messages = {}, channels = [ableChannel('activitypub', deeds)], storeFiles, log } = sketch
  const house: OutpostHouse = {
    desk: {
      findResponse: async id => responses.find(({ response }) => response.id === id),
      findBlob: async () => undefined,
      findMessageTo: async (agent, id) => (agent === 'echo' ? messages[id] : undefined),
      act: async (acts, correlationId) => void done.push({ acts, correlationId }),
    },
    world: createQuietWorld({ ...(log && { log }), randomBytes: count => new Uint8Array(count).fill(7) }),
    findChannel: name => channels.find(channel => channel.name === name) as Channel | undefined,
    ...(storeFiles && { storeFiles }),
  }
  return { house, deeds, done }
}

/** A message by activitypub with this target. */
export function foundMessage(number: number): FoundMessage {
  return { message: number, via: 'activitypub', target: { of: turn(number).content.id } }
}
