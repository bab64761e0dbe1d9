import type { MessageRecord } from '@postern/core'
import type { TestHouse, TestHouseOptions } from './house.ts'
import { openTestHouse } from './house.ts'
import type { Peer } from './peer.ts'
import { openPeer } from './peer.ts'
import type { Person } from './person.ts'
import { settlePerson } from './person.ts'

/** A gateway, somebody honest and somebody else, in one small network. */
export interface Stage {
  readonly peer: Peer
  readonly house: TestHouse
  readonly alice: Person
  readonly mallory: Person
  /** Everything stored, newest first. */
  stored(): Promise<readonly MessageRecord[]>
  close(): Promise<void>
}

export const hosts = ['good.test', 'evil.test', 'sub.evil.test', 'xn--gd-eka.test', 'other.test']

export async function openStage(options: TestHouseOptions = {}): Promise<Stage> {
  const peer = await openPeer(hosts)
  const house = await openTestHouse({ loopback: peer.loopback, ...options })
  const { desk } = house
  return {
    peer,
    house,
    alice: settlePerson(peer, 'alice@good.test'),
    mallory: settlePerson(peer, 'mallory@evil.test'),
    async stored() {
      const list = await desk.listMessages({ limit: 1_000 })
      const records = await Promise.all(list.map(({ id }) => desk.findMessage(id)))
      return records.filter(record => record !== undefined)
    },
    async close() {
      await house.close()
      await peer.close()
    },
  }
}
