export interface Page {
  readonly limit: number
  /** The last place of the page before. */
  readonly after?: number | undefined
}
