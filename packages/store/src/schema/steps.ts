// Lists the numbered steps that migrate a database of any release to the newest tables.
import { firstSchema } from './first/first-schema.ts'
import { threadIdStep } from './steps/2-thread-ids.ts'
import { storedBytesStep } from './steps/3-stored-bytes.ts'
import { namelessKeyStep } from './steps/4-keys-without-names.ts'
import { credentialKindStep } from './steps/5-credential-kinds.ts'
import { firstTryStep } from './steps/6-first-tries.ts'
import { gatewaySetupStep } from './steps/7-gateway-setups.ts'
import { objectStorageStep } from './steps/8-object-storages.ts'
import { withdrawnDeliveryStep } from './steps/9-withdrawn-deliveries.ts'
import { overdueRequirementStep } from './steps/10-overdue-requirements.ts'
import { foundThreadStep } from './steps/11-thread-ids-found.ts'
import { deliveryReasonStep } from './steps/12-delivery-reasons.ts'
import { threadEventStep } from './steps/13-thread-events.ts'

/**
 * The steps in their order. A database at number n has had the first n. A landed step is never edited, because databases have had it already. A
 * change of the tables is one more step at the end, with a fixture of its own (CONTRIBUTING.md, "Change the tables").
 */
export const schemaSteps: readonly string[] = [
  firstSchema,
  threadIdStep,
  storedBytesStep,
  namelessKeyStep,
  credentialKindStep,
  firstTryStep,
  gatewaySetupStep,
  objectStorageStep,
  withdrawnDeliveryStep,
  overdueRequirementStep,
  foundThreadStep,
  deliveryReasonStep,
  threadEventStep,
]
