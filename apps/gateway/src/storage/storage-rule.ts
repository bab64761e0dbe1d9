// Limits the bytes that each sender may store, and that all unproven senders may store together.
import { hash } from 'node:crypto'
import { listPeopleBehind } from '@postern/message'
import type { AdmissionRule, Intake, StorageQuota } from '@postern/pipeline'
import { productionStorage } from '../config/own-schema.ts'
import type { Config } from '../config/schema.ts'
import type { FreeSpace } from './free-space.ts'

/** Returns the limits, with defaults in production. Dev mode has only the limits that the configuration sets. */
export function readStorageLimits({ limits, dev }: Pick<Config, 'limits' | 'dev'>) {
  const { stored, free_bytes } = limits
  return dev
    ? { stored, free_bytes }
    : { stored: { ...productionStorage.stored, ...stored }, free_bytes: free_bytes ?? productionStorage.free_bytes }
}

/** Creates the rule. It attaches quotas to the message, because only the store knows how much a sender has stored. */
export function createStorageRule(config: Pick<Config, 'limits' | 'dev'>, freeSpace: FreeSpace): AdmissionRule {
  const { stored } = readStorageLimits(config)
  return {
    name: 'storage',
    count(intakes) {
      for (const { message } of intakes) freeSpace.check({ isProven: message.sender.verified })
    },
    admitPeer: intake => ({ ...intake, storage: planQuota(intake, stored) }),
  }
}

function planQuota({ message }: Intake, stored: Config['limits']['stored']): StorageQuota {
  const { sender, received_via: via } = message
  const isProven = sender.verified
  const [senderName = sender.address] = listPeopleBehind(sender)
  return {
    // The key is a digest, because the store must not keep an address longer than its sender's messages.
    sender: hash('sha256', JSON.stringify([via, senderName]), 'base64url'),
    isProven,
    maxBytes: isProven ? stored.per_identity : stored.per_unverified,
    maxUnprovenBytes: stored.unverified,
  }
}
