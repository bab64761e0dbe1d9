import { blobSchema } from './blobs.ts'
import { deliverySchema } from './deliveries.ts'
import { messageSchema } from './messages.ts'
import { peerSchema } from './peers.ts'
import { peopleSchema } from './people.ts'
import { requirementSchema } from './requirements.ts'
import { taskSchema } from './tasks.ts'
import { threadSchema } from './threads.ts'
import { totalSchema } from './totals.ts'
import { transcriptSchema } from './transcript.ts'
import { turnSchema } from './turns.ts'

/**
 * All tables, by topic. Conventions: a column `…_at` is in ms since the epoch, a column `at` is ISO 8601 as it was said; text columns named after a
 * member of the contract hold its JSON; `due_at` is set only on work that may be taken up (ready, leased or waiting for its time), so one small
 * partial index serves every lease; `ended_at` is set once work is over.
 */
export const firstSchema: string = [
  threadSchema,
  messageSchema,
  blobSchema,
  turnSchema,
  deliverySchema,
  taskSchema,
  peerSchema,
  requirementSchema,
  peopleSchema,
  transcriptSchema,
  totalSchema,
].join('\n')
