export interface SwarmPolicy {
  readonly policyName: string
  /** The message for a banned client, every time. */
  readonly banMessage: string
  readonly bansOnRefusal?: boolean | undefined
  validateInput?(message: string, clientId: string): Promise<boolean> | boolean
  validateOutput?(message: string, clientId: string): Promise<boolean> | boolean
}
