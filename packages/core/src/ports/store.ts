import type { IntakeStore } from './intake-store.ts'
import type { LookupStore } from './lookup-store.ts'
import type { NoticeStore } from './notice-store.ts'
import type { OnceStore } from './once-store.ts'
import type { OperatorStore } from './operator-store.ts'
import type { OverdueStore } from './overdue-store.ts'
import type { PeopleStore } from './people-store.ts'
import type { RelationStore, WithdrawalStore } from './relation-store.ts'
import type { ReplayStore } from './replay/replay-store.ts'
import type { RequirementStore } from './requirement-store.ts'
import type { TaskStore } from './task-store.ts'
import type { TraceStore } from './trace/trace-store.ts'
import type { WhyStore } from './why/why-store.ts'
import type { WorkStore } from './work-store.ts'

/** Everything remembered. */
export interface Store
  extends IntakeStore,
    WorkStore,
    LookupStore,
    TaskStore,
    RelationStore,
    WithdrawalStore,
    RequirementStore,
    OverdueStore,
    OnceStore,
    PeopleStore,
    OperatorStore,
    ReplayStore,
    TraceStore,
    NoticeStore,
    WhyStore {
  close(): Promise<void>
}
