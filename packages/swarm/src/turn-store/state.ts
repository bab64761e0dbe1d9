import type { AgentCallOptions, AgentState, Json } from '@postern/core'
import { parseJsonText, Rejection } from '@postern/core'

export type Continuation = Pick<AgentCallOptions, 'contextId' | 'taskId'>

interface KeptState {
  /** The active agent and the path to it. */
  readonly navigation?: Json | undefined
  /** Where conversations of remote members continue. */
  readonly remotes?: Readonly<Record<string, Continuation>> | undefined
  /** What members' tools keep; one state for all of them. */
  readonly tools?: Json | undefined
  /** States, storages and computes of the conversation, by kind and name. */
  readonly data?: Readonly<Record<string, Json>> | undefined
}

/** What a swarm keeps for a conversation. It is in its agent's state, so it is written with the answer or not at all. */
export interface TurnState {
  readonly navigation: Json | undefined
  keepNavigation(value: Json): void
  findRemote(member: string): Continuation | undefined
  keepRemote(member: string, continuation: Continuation): void
  findData(name: string): Json | undefined
  /** `undefined` removes it. @throws Rejection too_large */
  keepData(name: string, value: Json | undefined): void
  /** `context.state` of tools. */
  readonly ofTools: AgentState
}

/** `maxBytes` limits all that tools keep. */
export async function openTurnState(state: AgentState, maxBytes: number): Promise<TurnState> {
  let kept = ((await state.get()) ?? {}) as KeptState
  function keep(change: KeptState): void {
    kept = { ...kept, ...change }
    state.set(parseJsonText(JSON.stringify(kept)) as Json)
  }

  /** A change that makes it smaller is always allowed. @throws Rejection too_large */
  function keepOfTools(change: Pick<KeptState, 'tools' | 'data'>): void {
    const { tools, data } = kept
    const bytes = countBytes({ tools, data, ...change })
    if (bytes > maxBytes && bytes > countBytes({ tools, data })) {
      throw new Rejection('too_large', `Cannot keep: the conversation would have more than ${maxBytes} bytes`)
    }
    keep(change)
  }
  return {
    get navigation() {
      return kept.navigation
    },
    keepNavigation: navigation => keep({ navigation }),
    ofTools: { get: async () => kept.tools, set: tools => keepOfTools({ tools }) },
    findData: name => kept.data?.[name],
    keepData(name, value) {
      const { [name]: _, ...others } = kept.data ?? {}
      keepOfTools({ data: value === undefined ? others : { ...others, [name]: value } })
    },
    findRemote: member => kept.remotes?.[member],
    keepRemote: (member, continuation) => keep({ remotes: { ...kept.remotes, [member]: continuation } }),
  }
}

function countBytes(kept: Pick<KeptState, 'tools' | 'data'>): number {
  return Buffer.byteLength(JSON.stringify(kept))
}
