import type { WhyStore } from '@postern/core'
import type { StoreContext } from '../../engine/store-context.ts'
import type { Refusals } from '../refusals.ts'
import { createWhyRecords } from './records.ts'
import { createWhyRefusals } from './refusals.ts'
import { createRunNotes } from './runs.ts'
import { createWhySubjects } from './subjects.ts'

/** What there is to say why a message was answered as it was. */
export function createWhyStore(context: StoreContext, refusals: Refusals): WhyStore {
  return {
    ...createWhySubjects(context.db),
    ...createWhyRecords(context),
    ...createWhyRefusals(context.db, refusals),
    ...createRunNotes(context),
  }
}
