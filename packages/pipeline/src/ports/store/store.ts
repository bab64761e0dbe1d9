// Joins all ports to the store.

import type { OperatorStore } from '../operator/operator-store.ts'
import type { ReplayStore } from '../operator/replay-store.ts'
import type { TraceStore } from '../operator/trace-store.ts'
import type { WhyStore } from '../operator/why-store.ts'
import type { IntakeStore } from './intake-store.ts'
import type { LookupStore } from './lookup-store.ts'
import type { NoticeStore } from './notice-store.ts'
import type { PeopleStore } from './people-store.ts'
import type { RelationStore } from './relation-store.ts'
import type { OverdueStore, RequirementStore } from './requirement-store.ts'
import type { SecretStore } from './secret-store.ts'
import type { SingleUseStore } from './single-use-store.ts'
import type { TaskStore } from './task-store.ts'
import type { WithdrawalStore } from './withdrawal-store.ts'
import type { WorkStore } from './work-store.ts'

/** The whole store: all ports to the data of the gateway. */
export interface Store
  extends IntakeStore,
    WorkStore,
    LookupStore,
    SecretStore,
    TaskStore,
    RelationStore,
    WithdrawalStore,
    RequirementStore,
    OverdueStore,
    SingleUseStore,
    PeopleStore,
    OperatorStore,
    ReplayStore,
    TraceStore,
    NoticeStore,
    WhyStore {
  /** Returns the time by which leases end and work falls due, in ms since the epoch. */
  now(): number
  close(): Promise<void>
}
