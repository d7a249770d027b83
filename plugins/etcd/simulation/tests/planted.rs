//! Known mistakes of other operators are found: what is shown here is that the simulation can fail.

#[cfg(test)]
mod tests {
    use etcd_core::planted::{Defect, plant};
    use etcd_simulation::{
        Order, Play, Slip,
        catalogue::scene,
        survey::{Depth, survey},
    };

    /// Plays a scene with a mistake; what is found has to be this.
    fn is_found(defect: Option<Defect>, slip: Option<Slip>, name: &str, by: &str) {
        let scene = scene(name).expect(name);
        // That the scene is clean without a mistake is shown by the tests of scenes.
        let depth = Depth { refusals: 0, looks: 0, hidden: 0, stale: &[2, 7] };
        plant(defect);
        let mut play = Play::new(&scene, Order::Fixed, Vec::new());
        play.operator.slip = slip;
        play.run(&scene);
        if play.verdict().is_err_and(|wrong| wrong.contains(by)) {
            return plant(None);
        }
        // It takes more than the scene itself: an operator that dies in it.
        let found = survey(&scene, depth, slip).failures;
        plant(None);
        let all: Vec<&str> = found.iter().map(|failure| failure.wrong.as_str()).collect();
        assert!(all.iter().any(|wrong| wrong.contains(by)), "{defect:?} {slip:?} in {name}: {all:#?}");
    }

    #[test]
    fn members_that_are_added_with_a_vote_before_they_run() {
        let by = "a member is added with a vote";
        is_found(Some(Defect::AddsVoters), None, "1 to 2 to 1, without claims", by);
    }

    #[test]
    fn a_cluster_that_is_given_up_after_a_crash_while_it_is_created() {
        is_found(Some(Defect::GivesUpWhenCreating), None, "one member, without claims", "nobody leads");
    }

    #[test]
    fn a_pause_that_the_status_does_not_tell() {
        is_found(
            Some(Defect::HidesPause),
            None,
            "paused, without claims",
            "does not tell whether it is paused",
        );
    }

    #[test]
    fn a_leader_that_is_removed_because_it_comes_first() {
        is_found(Some(Defect::AnyVictim), None, "3 to 1 to 3, without claims", "is removed while it leads");
    }

    #[test]
    fn a_minor_that_is_left_out() {
        let by = "cannot run its version";
        is_found(Some(Defect::AnyVersion), None, "a minor is left out, without claims", by);
    }

    #[test]
    fn a_log_that_the_next_version_cannot_read() {
        let by = "there are entries of 3.5 in the log";
        is_found(Some(Defect::KeepsOldLogs), None, "two upgrades, without claims", by);
    }

    #[test]
    fn a_version_that_is_copied_from_the_spec() {
        let by = "which no member runs";
        is_found(Some(Defect::CopiesVersion), None, "two upgrades, without claims", by);
    }

    #[test]
    fn a_second_member_that_is_restarted_while_the_first_is_not_back() {
        let by = "while another voter";
        is_found(Some(Defect::RunningIsReady), None, "two upgrades, without claims", by);
    }

    #[test]
    fn claims_that_are_not_used_again() {
        let by = "nobody leads";
        is_found(Some(Defect::ClaimsDieWithPods), None, "all pods are deleted, with claims", by);
    }

    #[test]
    fn a_cluster_that_is_begun_anew_over_the_data_it_lost() {
        let by = "a new cluster is begun though one exists";
        is_found(Some(Defect::BeginsAnew), None, "all lose their data, with claims", by);
    }

    #[test]
    fn an_operator_that_acts_on_what_a_cache_says() {
        is_found(None, Some(Slip::TrustsCache), "3 to 1 to 3, with claims", "");
    }
}
