// Counts the users of each client, and closes the client after its last user has left.
import type { SwarmClientState } from './client-state.ts'

/** A use of a client, which lasts until the user leaves or the client is closed. */
interface ClientUse {
  readonly hasEnded: boolean
  /** Leaves the client. The last user who leaves closes it. */
  leave(): Promise<void>
}

/** The state and the users of the clients, which a swarm and its scopes share. */
export interface SwarmClients {
  readonly clientStates: Map<string, Promise<SwarmClientState>>
  enter(clientId: string): ClientUse
  /** Opens a use for a connected receiver. `disconnect` ends its output. */
  connect(clientId: string, disconnect: () => void): ClientUse
  isConnected(clientId: string): boolean
  /** Ends all uses and cancels the running answer. The next user opens the client again. */
  close(clientId: string): Promise<void>
}

interface ClientUser {
  hasEnded: boolean
  readonly disconnect?: (() => void) | undefined
}

export function createSwarmClients(): SwarmClients {
  const clientStates: SwarmClients['clientStates'] = new Map()
  const usersByClient = new Map<string, Set<ClientUser>>()
  const listUsers = (clientId: string) => usersByClient.get(clientId) ?? new Set<ClientUser>()

  function endUse(clientId: string, user: ClientUser): void {
    user.hasEnded = true
    user.disconnect?.()
    listUsers(clientId).delete(user)
  }

  async function close(clientId: string): Promise<void> {
    for (const user of [...listUsers(clientId)]) endUse(clientId, user)
    usersByClient.delete(clientId)
    const state = clientStates.get(clientId)
    clientStates.delete(clientId)
    ;(await state)?.answerAbort?.abort()
  }

  function addUser(clientId: string, user: ClientUser): ClientUse {
    usersByClient.set(clientId, listUsers(clientId).add(user))
    return {
      get hasEnded() {
        return user.hasEnded
      },
      async leave() {
        if (user.hasEnded) return
        endUse(clientId, user)
        if (listUsers(clientId).size === 0) await close(clientId)
      },
    }
  }

  return {
    clientStates,
    enter: clientId => addUser(clientId, { hasEnded: false }),
    connect: (clientId, disconnect) => addUser(clientId, { hasEnded: false, disconnect }),
    isConnected: clientId => [...listUsers(clientId)].some(({ disconnect }) => disconnect !== undefined),
    close,
  }
}
