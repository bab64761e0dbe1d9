export interface SwarmPolicy {
  readonly policyName: string
  /** What a banned client is told, every time. */
  readonly banMessage: string
  readonly bansOnRefusal?: boolean | undefined
  validateInput?(message: string, clientId: string): Promise<boolean> | boolean
  validateOutput?(message: string, clientId: string): Promise<boolean> | boolean
}
