// Joins the tables of all topics into the schema of a new database.
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
 * All tables by topic. A column `…_at` contains ms since the epoch, and a column `at` contains ISO 8601 in its original form. Text columns with the name
 * of a member of the contract contain its JSON. `due_at` is set only for work that is ready, leased or waiting for its time, so that one small partial
 * index serves every lease. `ended_at` is set when work is over.
 */
export const initialSchema: string = [
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
