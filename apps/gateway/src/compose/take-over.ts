import type { Listening } from '@postern/core'
import type { ChannelSocket, Composition, StartedComposition } from './composition.ts'
import { openSocket } from './composition.ts'

/** Sockets that changed hands. */
interface TakenSockets {
  readonly sockets: readonly ChannelSocket[]
  /** Resolves with the end of the last connection to a former socket. */
  readonly released: Promise<unknown>
}

/**
 * Opens the sockets of a composition that follows another. Former sockets take no new connection then; what is connected goes on. If one
 * cannot be opened, the former ones listen again. @throws ConfigError
 */
export async function takeOverSockets(next: Composition, former: StartedComposition): Promise<TakenSockets> {
  const released = new Map<ChannelSocket, Promise<void>>()
  const release = (socket: ChannelSocket) => {
    if (!released.has(socket)) released.set(socket, endAccepting(socket.listening))
  }
  const sockets: ChannelSocket[] = []
  try {
    for (const channel of next.foundation.channels) {
      const { name } = channel.descriptor
      const before = former.sockets.find(socket => socket.channel.descriptor.name === name)
      const open = () => openSocket(channel, before?.listening)
      const listening = await open().catch(error => {
        // Its address may be the one that the former socket holds.
        if (!before) throw error
        release(before)
        return open()
      })
      if (listening) sockets.push({ channel, listening })
    }
  } catch (error) {
    await Promise.all(sockets.map(({ listening }) => listening.close()))
    await reopen(former, [...released.keys()])
    throw error
  }
  for (const socket of former.sockets) release(socket)
  return { sockets, released: Promise.all(released.values()) }
}

function endAccepting(listening: Listening): Promise<void> {
  return listening.release?.() ?? listening.close()
}

/** The old ones stay on the list: somebody may still be connected. */
async function reopen(former: StartedComposition, lost: readonly ChannelSocket[]): Promise<void> {
  const reopened: ChannelSocket[] = []
  for (const { channel, listening } of lost) {
    const again = await openSocket(channel, listening)
    if (again) reopened.push({ channel, listening: again })
  }
  former.sockets = [...reopened, ...former.sockets]
}
