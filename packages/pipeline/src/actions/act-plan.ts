// Contains the steps that the plans of several actions share.

import type { ActRefusal, Part } from '@postern/message'
import { refuseAct, withSafeFileNames } from '@postern/message'
import { collapseCalls } from '../history/collapse-calls.ts'
import type { Addressing } from '../ports/channel/addressing.ts'
import type { Channel } from '../ports/channel/channel.ts'
import type { DeliveryPlan } from '../ports/records/work/answer.ts'
import type { ActionDeps, StoredFiles } from '../ports/turn/action-deps.ts'

/** Returns the refusal of an action without visible content. */
export function refuseBlank(act: string): ActRefusal {
  return refuseAct('malformed', `Cannot ${act}: it has no words. Say something, or attach a file`)
}

/**
 * Returns the parts in stored form: each tool call once, and files under safe names. Bytes move into blobs only for channels that address files;
 * other channels send the bytes in the message.
 */
export function storeFilesFor(
  channel: Pick<Channel, 'descriptor'> | undefined,
  parts: readonly Part[],
  { storeFiles }: Pick<ActionDeps, 'storeFiles'>,
): StoredFiles {
  const collapsedParts = withSafeFileNames(collapseCalls(parts))
  return channel?.descriptor.addressesFiles && storeFiles
    ? storeFiles(collapsedParts)
    : { parts: [...collapsedParts], blobs: [] }
}

export function deliveryPlanOf({ deliveries, broadcasts }: Addressing): DeliveryPlan {
  return { deliveries, ...(broadcasts && { broadcasts }) }
}
