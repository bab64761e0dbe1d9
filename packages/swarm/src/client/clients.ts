import type { SwarmClientState } from './state.ts'

/** Somebody uses a client, until he leaves or the client is closed. */
interface Stay {
  readonly isOver: boolean
  /** Whoever leaves last closes the client. */
  leave(): Promise<void>
}

/** What a swarm and its scopes have in common: the state of their clients, and who is in them. */
export interface SwarmClients {
  readonly clientStates: Map<string, Promise<SwarmClientState>>
  enter(clientId: string): Stay
  /** The same for who is told what is said; `disconnect` ends that. */
  connect(clientId: string, disconnect: () => void): Stay
  isConnected(clientId: string): boolean
  /** Ends all stays, and gives up the answer that is being made; whoever comes next opens the client anew. */
  close(clientId: string): Promise<void>
}

interface Guest {
  isOver: boolean
  readonly disconnect?: (() => void) | undefined
}

export function createSwarmClients(): SwarmClients {
  const clientStates: SwarmClients['clientStates'] = new Map()
  const guests = new Map<string, Set<Guest>>()
  const listGuests = (clientId: string) => guests.get(clientId) ?? new Set<Guest>()

  function end(clientId: string, guest: Guest): void {
    guest.isOver = true
    guest.disconnect?.()
    listGuests(clientId).delete(guest)
  }

  async function close(clientId: string): Promise<void> {
    for (const guest of [...listGuests(clientId)]) end(clientId, guest)
    guests.delete(clientId)
    const state = clientStates.get(clientId)
    clientStates.delete(clientId)
    ;(await state)?.life?.abort()
  }

  function receive(clientId: string, guest: Guest): Stay {
    guests.set(clientId, listGuests(clientId).add(guest))
    return {
      get isOver() {
        return guest.isOver
      },
      async leave() {
        if (guest.isOver) return
        end(clientId, guest)
        if (listGuests(clientId).size === 0) await close(clientId)
      },
    }
  }

  return {
    clientStates,
    enter: clientId => receive(clientId, { isOver: false }),
    connect: (clientId, disconnect) => receive(clientId, { isOver: false, disconnect }),
    isConnected: clientId => [...listGuests(clientId)].some(({ disconnect }) => disconnect !== undefined),
    close,
  }
}
