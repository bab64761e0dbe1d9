// Declares the routes and sockets that peers of a channel reach.
import type { ListeningSocket } from './listening-socket.ts'

/** The routes and sockets of a channel. `Routes` is the router of the web framework. */
export interface ChannelEndpoint<Routes = unknown> {
  readonly routes: Routes
  /** The path at which people chat, and its label on the terminal. */
  readonly chatPage?: { readonly label: string; readonly path: string } | undefined
  /** Opens the channel's own socket. `former` is the socket before a change of configuration; the new socket keeps its port if that was chosen at random. */
  listen?(former?: Pick<ListeningSocket, 'port'>): Promise<ListeningSocket>
  /** Answers the waiting peers with the current state, because the gateway stops. */
  release?(): void
  /** Closes the resources of the channel, after the last peer has disconnected. */
  close?(): Promise<void>
}
