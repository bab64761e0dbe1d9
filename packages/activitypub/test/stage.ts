// Opens a gateway with accounts on two peer servers.
import type { MessageRecord } from '@postern/pipeline'
import type { ActivityPubGateway, TestGatewayOptions } from './gateway.ts'
import { openActivityPubGateway } from './gateway.ts'
import type { Peer } from './peer.ts'
import { openPeer } from './peer.ts'
import type { PeerAccount } from './person.ts'
import { settlePerson } from './person.ts'

/** A gateway in a small network, with an honest account (`alice`) and a hostile account on another host (`mallory`). */
export interface Stage {
  readonly peer: Peer
  readonly gateway: ActivityPubGateway
  readonly alice: PeerAccount
  readonly mallory: PeerAccount
  /** Returns all stored messages, newest first. */
  listStoredMessages(): Promise<readonly MessageRecord[]>
  close(): Promise<void>
}

export const peerHosts = ['good.test', 'evil.test', 'sub.evil.test', 'xn--gd-eka.test', 'other.test']

export async function openStage(options: TestGatewayOptions = {}): Promise<Stage> {
  const peer = await openPeer(peerHosts)
  const gateway = await openActivityPubGateway({ loopback: peer.loopback, ...options })
  const { store } = gateway
  return {
    peer,
    gateway,
    alice: settlePerson(peer, 'alice@good.test'),
    mallory: settlePerson(peer, 'mallory@evil.test'),
    async listStoredMessages() {
      const messages = await store.listMessages({ limit: 1_000 })
      const records = await Promise.all(messages.map(({ id }) => store.findMessage(id)))
      return records.filter(record => record !== undefined)
    },
    async close() {
      await gateway.close()
      await peer.close()
    },
  }
}
