// Counts the users of each client, and closes the client after its last user has left.
import type { SwarmClientState } from './state.ts'

/** A use of a client, which lasts until the user leaves or the client is closed. */
interface Stay {
  readonly isOver: boolean
  /** Leaves the client. The last user who leaves closes it. */
  leave(): Promise<void>
}

/** The state and the users of the clients, which a swarm and its scopes share. */
export interface SwarmClients {
  readonly clientStates: Map<string, Promise<SwarmClientState>>
  enter(clientId: string): Stay
  /** Opens a use for a connected receiver. `disconnect` ends its output. */
  connect(clientId: string, disconnect: () => void): Stay
  isConnected(clientId: string): boolean
  /** Ends all uses and cancels the running answer. The next user opens the client again. */
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
