// Declares the store as channels see it.
import type { RequirementDecisions } from '../store/requirement-store.ts'
import type { Store } from '../store/store.ts'

/** The store without the operations for which channels use other ports: `admission` for messages and `decisions` for decisions. */
export type ChannelStore = Omit<Store, 'admit' | keyof RequirementDecisions>
