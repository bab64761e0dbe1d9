// Lists the numbered migrations that lead from the tables of any release to the newest tables.
import { initialSchema } from './initial/initial-schema.ts'
import { addThreadIds } from './migrations/2-thread-ids.ts'
import { addStoredBytes } from './migrations/3-stored-bytes.ts'
import { deleteCountsByAddress } from './migrations/4-keys-without-names.ts'
import { renameCredentialKinds } from './migrations/5-credential-kinds.ts'
import { addFirstAttempts } from './migrations/6-first-attempts.ts'
import { addGatewaySetups } from './migrations/7-gateway-setups.ts'
import { addObjectStorages } from './migrations/8-object-storages.ts'
import { addWithdrawnDeliveries } from './migrations/9-withdrawn-deliveries.ts'
import { addOverdueRequirements } from './migrations/10-overdue-requirements.ts'
import { indexThreadIds } from './migrations/11-thread-id-index.ts'
import { addDeliveryReasons } from './migrations/12-delivery-reasons.ts'
import { addThreadEvents } from './migrations/13-thread-events.ts'
import { separateSupersededEdits } from './migrations/14-superseded-edits.ts'

/**
 * The migrations in their order. A database of version n has had the first n migrations. The statements of a landed migration are never edited, because
 * databases have had them already. A change of the tables is a new migration at the end, with its own fixture (CONTRIBUTING.md, "Change the tables").
 */
export const schemaMigrations: readonly string[] = [
  initialSchema,
  addThreadIds,
  addStoredBytes,
  deleteCountsByAddress,
  renameCredentialKinds,
  addFirstAttempts,
  addGatewaySetups,
  addObjectStorages,
  addWithdrawnDeliveries,
  addOverdueRequirements,
  indexThreadIds,
  addDeliveryReasons,
  addThreadEvents,
  separateSupersededEdits,
]
