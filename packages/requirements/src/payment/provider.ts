import type { RequirementRecord, UsedReceipt } from '@postern/core'

/** Who takes money for the gateway's agents. What the provider says of it is signed, and checked here. */
export interface PaymentProvider {
  readonly name: string
  /** Where a person pays; undefined where there is no such place. */
  checkoutUrl?(requirement: RequirementRecord, returnUrl: string): string | undefined
  /** Which requirement a receipt is for, before anything of it is proven; undefined when it is none. */
  requirementOf(receipt: string): string | undefined
  /** @throws Rejection, for each thing that is wrong with its own sentence */
  verifyReceipt(receipt: string, requirement: RequirementRecord): Promise<UsedReceipt>
  /** Pays with nobody's money, for tests: a receipt that is then checked like any other. */
  payNow?(requirement: RequirementRecord): Promise<string>
}
