"""Operations on published results: repair, comparison, maintenance, handover."""
